// The agent in a guest: a service that reads scripts from a virtio port, runs each and sends its output back.

export const portName = 'gantry.lane';

/** Lines from the host: `ID SECONDS SCRIPT`; lines to the host: `ready BOOT-ID` and `ID STATUS OUTPUT`; SCRIPT and OUTPUT in base64. */
const agent = `#!/bin/bash
port=/dev/virtio-ports/${portName}
until [ -e "$port" ]; do sleep 0.1; done
exec 3<>"$port"
echo "ready $(cat /proc/sys/kernel/random/boot_id)" >&3
while read -r id seconds script <&3; do
  base64 -d <<<"$script" >/run/lane-script
  timeout -k 2 "$seconds" bash -eu -o pipefail /run/lane-script >/run/lane-output 2>&1 </dev/null 3>&-
  echo "$id $? $(base64 -w0 /run/lane-output)" >&3
done
`;

const unit = `[Unit]
Description=Obeys the lane of hosts
After=basic.target

[Service]
ExecStart=/usr/local/sbin/lane-agent
KillMode=process
Environment=HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

[Install]
WantedBy=multi-user.target
`;

export interface GuestFile {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

export const guestFiles: readonly GuestFile[] = [
  { path: 'usr/local/sbin/lane-agent', text: agent, mode: 0o755 },
  { path: 'etc/systemd/system/lane-agent.service', text: unit, mode: 0o644 },
  { path: 'etc/hostname', text: 'lane\n', mode: 0o644 },
  { path: 'etc/hosts', text: '127.0.0.1 localhost lane\n', mode: 0o644 },
  { path: 'etc/fstab', text: '/dev/vda / ext4 rw,relatime 0 0\n', mode: 0o644 },
];
