"""The CaptionBERT rotary encoder."""
