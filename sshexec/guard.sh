trap '' PIPE HUP TERM
L=' '
# having ID: who has the ID in its environment
having() { grep -ls "WEIR_ID=$1" /proc/[0-9]*/environ; }
# state PID: its group in G, its state in S, both empty when it is gone
state() {
	G= S=
	{ read -r x </proc/"$1"/stat; } || return
	x=${x##*) }
	set -- $x
	S=$1 G=$3
}
# inhabited GROUP: whether somebody is in it who has not ended
inhabited() {
	if [ -r /proc/self/stat ]; then
		[ "$(grep -lsE "[)] [^ZX] [0-9]+ $1 " /proc/[0-9]*/stat)" ]
	else
		kill -s 0 -- "-$1"
	fi
}
# present PID: whether it is there and has not ended
present() {
	state "$1"
	case $S in '') [ ! -r /proc/self/stat ] && kill -s 0 "$1" ;; [ZX]) return 1 ;; esac
}
# members GROUP ID: g when the group is the call's, and in o who else is
members() {
	g= o=
	for q in $(having "$2"); do
		q=${q#/proc/} q=${q%/environ}
		state "$q"
		if [ "$G" = "$1" ]; then g=1; elif [ "$G" ]; then o="$o $q"; fi
	done
}
# report ID DID: says who is there, and whether somebody was ended
report() {
	for q in $(having "$1"); do
		q=${q#/proc/} q=${q%/environ} c=
		{ read -r c </proc/"$q"/comm; } || continue
		echo "$1 $q $c"
	done
	echo "$1 $2"
}
# finish GROUP ID STEPS LIVE: ends a call's processes
finish() {
	s=TERM n=$3 t=0 l=$4 d=-
	[ "$n" = 0 ] && s=KILL n=4
	while [ $t -lt 4 ]; do
		members "$1" "$2"
		[ "$l" = 1 ] && inhabited "$1" && g=1
		[ "$g$o" ] || break
		d=+
		[ "$g" ] && kill -s $s -- "-$1"
		for q in $o; do kill -s $s "$q"; done
		i=0
		while [ "$i" -lt "$n" ]; do
			a=
			[ "$g" ] && inhabited "$1" && a=1
			for q in $o; do present "$q" && a=1; done
			[ "$a" ] || break
			sleep 0.05 || sleep 1
			i=$((i + 1))
		done
		s=KILL n=4 t=$((t + 1))
		[ "$a" ] || l=0
	done
	report "$2" $d
}
if [ -c /dev/null ]; then echo up null; else echo up; fi
while read -r c P i n l; do
	case $c in
	a) L="$L$P:$i:$n " ;;
	d) case $L in *" $P:$i:"*)
		y=${L#*" $P:$i:"}
		L="${L%%" $P:$i:"*} ${y#* }"
		;;
	esac ;;
	k) finish "$P" "$i" "$n" "$l" & ;;
	l) report "$i" - & ;;
	esac
done
for x in $L; do
	y=${x#*:}
	finish "${x%%:*}" "${y%%:*}" "${y##*:}" 0 &
done
wait
