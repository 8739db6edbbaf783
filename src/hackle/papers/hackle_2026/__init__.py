"""The runs that hackle's own evidence rests on: parts of the papers' studies, in one."""
