"""Code that runs inside the sandbox: a warm process that forks one child per execution."""
