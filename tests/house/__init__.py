"""What is said once about the whole house, and written from here into the pages: layers, theorems."""
