"""From the user's own retrieve function to a run: `rankgate.record`."""

from rankgate.recording.recorder import Recorded, RecordingError, record

__all__ = ["Recorded", "RecordingError", "record"]
