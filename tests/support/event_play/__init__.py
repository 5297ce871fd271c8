"""The hackathon of January 2019 as a play: the people of the event as real accounts, and what each of them does."""
