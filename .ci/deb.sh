#!/bin/sh
# Makes a Debian package of an installed tree: .ci/deb.sh ROOT VERSION OUT.deb. ROOT has usr/. The
# libraries that it depends on are those that the program is linked with, as dpkg-shlibdeps finds them.
# The same tree and SOURCE_DATE_EPOCH give the same bytes.
set -eu
root=$(cd "$1" && pwd) version=$2 out=$3

strip -g "$root/usr/bin/esgsim" "$root/usr/lib/libesgsim.a"
gzip -9nf "$root/usr/share/man/man1/esgsim.1"
mkdir -p "$root/DEBIAN" "$root/debian"
printf 'Source: esgsim\n\nPackage: esgsim\nArchitecture: any\n' >"$root/debian/control"
libraries=$(cd "$root" && dpkg-shlibdeps -O usr/bin/esgsim | sed -n 's/^shlibs:Depends=//p')
rm -r "$root/debian"
cat >"$root/DEBIAN/control" <<END
Package: esgsim
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: The esgsim developers <esgsim@localhost>
Section: science
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: $libraries
Recommends: gnuplot-nox, python3-h5py, python3-pandas
Suggests: gcc, libgsl-dev, libcjson-dev, libhdf5-dev, zlib1g-dev, nettle-dev
Description: simulator of deep learning on shareable GPUs
 Simulates serverless inference and gangs of trainings, event by event, under
 published schedulers and one's own.
END
dpkg-deb --root-owner-group --build "$root" "$out"
