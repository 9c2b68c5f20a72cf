"""What runs behind the fence: a process that waits there and forks one child for each execution."""
