"""Platforms that show a report where people look: the bot, and what it is told of its surroundings."""
