"""An Information Theoretic Perspective on Disentangled Representation Learning: split encoders."""
