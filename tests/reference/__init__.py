"""What tests share, once: slow independent oracles, which never import shuffledp, and helpers, which may."""
