"""From the mailbox's bytes to staging rows: knows XML and MySQL, no flight rule."""
