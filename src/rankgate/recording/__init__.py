"""From the user's own retrieve function to a run: `rankgate.record`."""

from rankgate.recording.recorded import Recorded, RecordingError
from rankgate.recording.recorder import record

__all__ = ["Recorded", "RecordingError", "record"]
