# Runs in the virtual machine, as root: see tests/vm/boot.
uname -r
systemctl --version | head -n 1
cp /payload/belljar /usr/local/bin/
runuser -l plain -c 'belljar doctor'
echo '## the Python package'
runuser -l plain -c 'BELLJAR_BIN=/usr/local/bin/belljar PYTHONPATH=/payload/python python3 -B /payload/package.py'
python3 /payload/places.py python3 /payload/limits.py /usr/local/bin/belljar
