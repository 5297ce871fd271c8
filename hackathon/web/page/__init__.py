"""What every page is made of: templates, figures, safe Markdown, styles and scripts."""
