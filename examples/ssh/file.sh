# sh -c SCRIPT sh read PATH OFFSET LINE COUNT ROOT...
# sh -c SCRIPT sh grep PATH OFFSET FLAGS PATTERN LINES WINDOW ROOT...
# Answers with a line, "ok INODE SIZE OFFSET" or why not, and then with bytes.
set -fu
exec 2>/dev/null
export LC_ALL=C
CDPATH=
no() {
	printf '%s\n' "$*"
	exit
}
# go PATH: to the directory where it is once all links are followed: D, and N in it
go() {
	d=${1%/*} N=${1##*/} n=0
	while :; do
		cd -P -- "${d:-/}" || return
		[ -h "./$N" ] || break
		n=$((n + 1))
		[ $n -le 16 ] || return
		t=$(readlink "./$N" && echo .) || return
		t=${t%??}
		case $t in /*) ;; *) t=./$t ;; esac
		d=${t%/*} N=${t##*/}
	done
	if [ -d "./$N" ]; then
		cd -P -- "./$N" || return
		N=
	fi
	D=$(pwd -P && echo .) || return
	D=${D%??}
	[ "$D" != / ] || D=
}
what=$1 path=$2 off=$3
if [ $what = read ]; then
	line=$4 count=$5
	shift 5
else
	flags=$4 pattern=$5 lines=$6 window=$7
	shift 7
fi
go "$path" || no missing
in=
for r; do
	r=$(go "$r" && printf '%s/%s.' "$D" "$N") || continue
	r=${r%.}
	case $r in
	*/) case $D/$N in "$r"*) in=1 ;; esac ;;
	*) [ "$D/$N" != "$r" ] || in=1 ;;
	esac
done
[ "$in" ] || no outside
[ "$N" ] || no directory
[ -e "./$N" ] || no missing
[ -f "./$N" ] || no special
[ -r "./$N" ] || no denied
set -- $(ls -dni "./$N")
inode=$1 size=$6
# part FROM COUNT: whole blocks that hold these bytes
part() { dd if="./$N" bs=4096 skip=$(($1 / 4096)) count=$((($1 % 4096 + $2 + 4095) / 4096)); }
if [ $what = read ]; then
	[ "$line" -le 1 ] || off=$(head -n $((line - 1)) <"./$N" | wc -c)
	off=$((off))
	[ $off -ge 0 ] || off=$((size + off))
	[ $off -ge 0 ] || off=0
	echo "ok $inode $size $off"
	part $off "$count"
	exit
fi
m=$(grep "$flags" -e "$pattern" </dev/null 2>&1)
[ $? -le 1 ] || no pattern $m
echo "ok $inode $size $off"
# What is there now, and no byte more, so that the next call goes on exactly.
n=$((size - off))
{
	[ "$off" -eq 0 ] || dd bs=1 skip="$off" count=0
	dd bs=65536 count=$((n / 65536))
	dd bs=256 count=$((n % 65536 / 256))
	dd bs=1 count=$((n % 256))
} <"./$N" | tr -d '\000' | grep -n "$flags" -e "$pattern" | tail -n "$lines" | tail -c "$window"
