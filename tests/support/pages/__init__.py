"""Pages as a reader gets them: a browser, rendered text, a dashboard that is served."""
