"""What is collected: runs from the user's own retriever, pools to label, people's labels for the gold set."""
