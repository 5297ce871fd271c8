"""Notifications to a chat: the events worth a message, the outbox, the webhook."""
