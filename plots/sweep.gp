# sweep.gp - time against a size or a window; drawn by gnuplot from two files that figures_sweep.py writes:
#   gnuplot -e "settings='sweep.set'; data='sweep.dat'" sweep.gp
# The picture goes to stdout. sweep.set says: dumb (1: as text, for a terminal), heading, case, machine, what (name of the axis), low, high, bottom, top, right (room for labels, in letters), tics, time_tics, width, height,
#   lines, Colour[lines], Dash[lines], Point[lines], Name[lines] (empty: no key in a terminal).
# sweep.dat has one block per line: "x seconds low high"; then one of what failed: "x y colour"; then one of labels: "x y text colour". Two blank lines between blocks.
load settings
if (dumb) { set terminal dumb size width,height noenhanced } else { set terminal svg size width,height font 'DejaVu Sans,11' background rgb 'white' noenhanced }
set title heading."\n".case noenhanced
if (!dumb) { unset title; set label 3 heading at screen 0.01,0.965 font 'DejaVu Sans Bold,12' noenhanced; set label 4 case at screen 0.01,0.925 font ',9.5' noenhanced; set label 1 machine at screen 0.01,0.025 font ',8' tc rgb '#6B6B6B' noenhanced }
if (!dumb) { set tmargin 4; set bmargin 5; set rmargin right; set lmargin 9 }
set logscale xy
set xrange [low:high]
set yrange [bottom:top]
eval 'set xtics (' . tics . ') nomirror out'
eval 'set ytics (' . time_tics . ') nomirror out'
unset mxtics
unset mytics
set xlabel what
if (!dumb) { set ylabel 'time per call (cold, median)'; set border 3 lc rgb '#555555'; set grid y lt 1 lc rgb '#E6E6E6'; unset key } else { set key below; set ylabel '' }
if (dumb) {
    plot for [i=1:lines] data index i-1 using 1:2 with linespoints title Name[i]
} else {
    plot for [i=1:lines] data index i-1 using 1:2:3:4 with yerrorbars lc rgb Colour[i] pt -1 lw 1 notitle, \
         for [i=1:lines] data index i-1 using 1:2 with linespoints lc rgb Colour[i] dt Dash[i] pt Point[i] ps 0.7 lw 1.5 notitle, \
         data index lines using 1:2:3 with points lc rgb variable pt 6 ps 1 lw 1.5 notitle, \
         data index lines+1 using 1:2:3:4 with labels left offset 0.7,0 font ',10' tc rgb variable notitle
}
