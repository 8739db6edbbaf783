"""How the site of the documentation is made: hooks of MkDocs, and the pictures of its pages."""
