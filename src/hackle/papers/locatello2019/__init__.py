"""Locatello et al. 2019, Challenging Common Assumptions in the Unsupervised Learning of Disentangled Representations."""
