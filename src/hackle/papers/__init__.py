"""One folder per paper: its settings, study, claims and figures. Facts about a paper are stated here, once."""
