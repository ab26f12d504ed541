// The quickstart as on its page, and containers that survive failures of the daemon and the host.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { remains } from './host-state.ts';
import { answers, containerPids, initPid } from './shell.ts';

/** A copy of the quickstart in a writable folder. */
export const stack = '/root/quickstart';

export const startChecks: readonly Check[] = [
  {
    name: 'the quickstart applies: containers start and get addresses',
    vital: true,
    async run(host) {
      await host.run(`cp -r /usr/share/doc/gantry/examples/quickstart ${stack} && sh ${stack}/build-image.sh`);
      expectMatch(await host.run(`gantry apply -f ${stack} --auto-approve`), /Apply complete! 7 added/, 'apply');
      const status = await host.run(`gantry status -f ${stack}`);
      for (const name of ['web', 'db'])
        expectMatch(status, new RegExp(`container/${name} +Running +in sync +10\\.123\\.0\\.`), 'status');
      expectMatch(await host.run(`gantry plan -f ${stack}`), /^No changes/, 'the next plan');
    },
  },
  {
    name: 'exec runs a command, under AppArmor as the whole container',
    async run(host) {
      expectSame(await host.run('gantry exec web -- hostname'), 'web', 'its name');
      const labels = await host.run(`
        init=$(${initPid('web')})
        gantry exec web -- sleep 4321 & trap 'kill $!' EXIT
        until command=$(pgrep -f '^sleep 4321'); do kill -0 $!; sleep 0.2; done
        cat /proc/$init/attr/current /proc/$command/attr/current`);
      const lines = labels.split('\n');
      if (lines.length !== 2) throw new Error(`two labels were expected: ${labels}`);
      for (const line of lines)
        expectMatch(line, /web.*\(enforce\)$/, 'the AppArmor profile of a process of the container');
    },
  },
];

export const lifeChecks: readonly Check[] = [
  {
    name: 'a killed gantryd comes back by its unit and finds its containers',
    async run(host) {
      const before = await host.run(containerPids);
      await host.run(`
        old=$(systemctl show -p MainPID --value gantryd); kill -9 $old
        until new=$(systemctl show -p MainPID --value gantryd); [ "$new" != 0 ] && [ "$new" != $old ]; do sleep 0.2; done
        ${answers}`);
      expectSame(await host.run(containerPids), before, 'the processes of the containers');
      expectSame(await host.run('gantry exec db -- hostname'), 'db', 'its name');
    },
  },
  {
    name: 'a stop of the unit takes less than 10 s with clients connected, and containers run on',
    async run(host) {
      const before = await host.run(containerPids);
      const stop = await host.run(`
        for words in events 'exec db -- sleep 987' 'logs -f db'; do systemd-run --quiet --slice lane-clients gantry $words; done
        until [ "$(ss -xH state connected | grep -c unix.socket)" -ge 3 ] && pgrep -f '^sleep 987'; do sleep 0.2; done >/dev/null
        begin=$(date +%s%N); systemctl stop gantryd; echo $(( ($(date +%s%N) - begin) / 1000000 ))
        systemctl stop lane-clients.slice; systemctl reset-failed`);
      if (!(Number(stop) < 10_000)) throw new Error(`the stop took ${stop} ms`);
      await host.run(`kill -0 ${before.replaceAll(/\S+ (\d+)\s*/g, '$1 ')}`);
      await host.run(`systemctl start gantryd; ${answers}`);
      expectSame(await host.run(containerPids), before, 'the processes after the next start');
    },
  },
  {
    name: 'containers are stopped in order for a reboot and run again after it',
    async run(host) {
      await host.run('gantry exec db -- touch /root/kept');
      await host.reboot();
      const journal = await host.run('journalctl -b -1 -o cat -u gantry-containers -u gantryd');
      expectMatch(journal, /Stopped gantry-containers/, 'the journal of the stop');
      await host.run(
        `until gantry status -f ${stack} | grep -c 'Running.*10[.]123' | grep -qx 2; do sleep 1; done`,
        120,
      );
      expectSame(await host.run('gantry exec db -- ls /root'), 'kept', 'its files');
    },
  },
  {
    name: 'an upgrade of the package restarts the daemon, and containers run on',
    async run(host) {
      const before = await host.run(containerPids);
      await host.run(
        `
        old=$(systemctl show -p MainPID --value gantryd)
        mkdir -p /run/product && mount -o ro /dev/vdb /run/product
        dpkg -i /run/product/gantryd_*.deb
        until new=$(systemctl show -p MainPID --value gantryd); [ "$new" != 0 ] && [ "$new" != $old ]; do sleep 0.2; done
        ${answers}`,
        300,
      );
      expectSame(await host.run(containerPids), before, 'the processes of the containers');
    },
  },
  {
    name: 'a purge of the packages under running containers leaves nothing',
    async run(host) {
      await host.run(
        `
        umount /run/product && rmdir /run/product
        DEBIAN_FRONTEND=noninteractive dpkg --purge gantryd gantry
        rm -rf ~/.local/state/gantry ${stack}`,
        300,
      );
      expectSame(await host.run('cat /etc/subuid /etc/subgid | grep ^root: || true'), '', 'the reserved ids');
      expectSame(await host.run('getent group gantry || true'), '', 'the group');
      expectSame(await remains(host), '', 'what is left');
    },
  },
];
