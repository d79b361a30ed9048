# Runs in the virtual machine, as root: see tests/vm/boot.
uname -r
systemctl --version | head -n 1
cp /payload/belljar /usr/local/bin/
runuser -l plain -c 'belljar doctor'
python3 /payload/places.py python3 /payload/limits.py /usr/local/bin/belljar
