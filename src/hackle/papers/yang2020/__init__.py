"""Yang et al. 2020: correlated posteriors in variational autoencoders and InfoGAN."""
