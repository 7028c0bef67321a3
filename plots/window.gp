# window.gp - throughput against window of the fastest variant, one line per aggregate; drawn by gnuplot from the data file that
# figures_gnuplot.py writes:
#   gnuplot -e "data='window.dat'; out='throughput.svg'; low=3; high=3000; blocks=6; ceiling=4.19e3; tics='3,30'; heading='...'; machine='...'" window.gp
# The data file has one block per line: a comment with its name, then "window GB/s"; two blank lines between blocks.
set terminal svg size 760,430 font 'DejaVu Sans,10' background rgb 'white'
set output out
set label 3 '{/:Bold '.heading.'}' at screen 0.01,0.955 font ',12'
set tmargin 3.5
set xlabel 'window w (elements)'
set ylabel 'GB/s by the work model (cold, median)'
set logscale x 10
set xrange [low/1.3:high*1.3]
eval 'set xtics (' . tics . ')'
set yrange [0:*<2*ceiling]
set border 3 lc rgb '#555555'
set tics nomirror out
set grid y lt 1 lc rgb '#E6E6E6'
set key outside right center Left reverse samplen 2 noenhanced title 'aggregate' left
set bmargin 5
set label 1 machine at screen 0.01,0.03 font ',8' tc rgb '#6B6B6B' noenhanced
array Colour[8] = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9', '#B8860B', '#000000', '#7A5195']
array Point[8] = [7, 5, 9, 13, 11, 4, 6, 8]
set for [i=1:8] linetype i lc rgb Colour[i] pt Point[i] ps 1 lw 1.5
if (ceiling > 0) {
    set arrow 1 from graph 0, first ceiling to graph 1, first ceiling nohead dt 2 lc rgb '#222222'
    set label 2 sprintf('copy: %.0f GB/s', ceiling) at graph 0.01, first ceiling offset 0,0.6 font ',9' tc rgb '#222222'
    set yrange [0:1.12*ceiling]
}
plot for [i=0:blocks-1] data index i using 1:2 with linespoints lt i+1 title columnheader(1)
