"""One folder per paper: its settings, study, claims, figures and words. A paper's facts stand here, once."""
