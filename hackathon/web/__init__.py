"""Pages: the dashboard, the published site, reports and slides, and the form of a survey."""
