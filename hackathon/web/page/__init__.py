"""The parts of every page: templates, figures, safe Markdown, styles and scripts."""
