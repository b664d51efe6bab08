"""What `rankgate explain` says, as plain text of a given width. Colours are the printer's business."""
