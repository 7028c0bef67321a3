"""Figures, drawn by matplotlib and gnuplot from rows."""
