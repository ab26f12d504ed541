// The packages as on their page: install, upgrade, downgrade, remove, purge, with many running containers.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { remains } from './host-state.ts';
import { packageSource } from '../packages-disk.ts';
import { beforeInstall, bootCheck } from './install.ts';
import { api, apply, container, containerPids, answers } from './shell.ts';

const crowd = Number(process.env['GANTRY_HOSTS_CROWD'] ?? 50);
const numbers = Array.from({ length: crowd }, (_, n) => `crowd${n + 1}`);

const documents = numbers.map((name) =>
  container(name, 'state: running', 'busybox').replace('profiles: [quick]', 'profiles: [base]'),
);

/** Otherwise apt would keep packages that others recommend or suggest. */
const forgetAdvice = '-o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false';

const apt = 'DEBIAN_FRONTEND=noninteractive apt-get -q -y';

/** Packages of the same programs with another version, beside those of the product. */
const newer = `mkdir -p /var/tmp/newer; for name in gantry gantryd; do
  dpkg-deb -R /run/product/\${name}_*.deb /var/tmp/newer/$name
  sed -i 's/^Version: .*/Version: 99.0/; s/gantry (= [^)]*)/gantry (= 99.0)/' /var/tmp/newer/$name/DEBIAN/control
  dpkg-deb -Znone --root-owner-group -b /var/tmp/newer/$name /var/tmp/newer/\${name}_99.0_amd64.deb; rm -r /var/tmp/newer/$name; done`;

/** Runs a script while polling the API; writes the longest time without an answer in ms to the file `away`. */
const watched = (script: string): string => `
  (while :; do ${api} -f -m 5 -o /dev/null http://gantryd/1.0 2>/dev/null && date +%s%3N; done >/var/tmp/answered) & watcher=$!
  until [ -s /var/tmp/answered ]; do sleep 0.1; done
  ${script}
  ${answers}
  kill $watcher; awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { print most + 0 }' /var/tmp/answered >/var/tmp/away`;

/** Waits until the listener, after a lost connection, reports a new profile. */
const heard = (name: string): string =>
  `until ${api} -o /dev/null -X DELETE http://gantryd/1.0/profiles/${name}
     ${api} -o /dev/null -d '{"name":"${name}"}' http://gantryd/1.0/profiles; grep -q 'profiles/${name}' /var/tmp/heard; do sleep 1; done`;

/** Packages that apt installs with the product by default. */
export const recommendedPackages = ['lxcfs', 'rsync', 'bash-completion'] as const;

export const upgradeChecks: readonly Check[] = [
  bootCheck,
  {
    name: 'three commands lead from nothing to a shell in a running container',
    vital: true,
    async run(host) {
      await host.run(`${packageSource}; ${beforeInstall}`);
      const begin = Date.now();
      await host.run(`cd /run/product; ${apt} install ./gantry_*.deb ./gantryd_*.deb`, 300);
      await host.run('cd /root; gantry init web --yes');
      const said = await host.run(`echo 'echo "in $(hostname)"; exit' | script -qec 'gantry shell first' /dev/null`);
      expectMatch(said, /^in first/m, 'the shell');
      console.log(`from nothing to a shell in a container: ${Math.round((Date.now() - begin) / 1000)} s`);
    },
  },
  {
    name: `${crowd} containers run`,
    vital: true,
    async run(host) {
      await host.run(apply('crowd', documents.join('\n---\n')), 1800);
      await host.run(`until gantry list | grep -c Running | grep -qx ${crowd + 1}; do sleep 1; done`, 300);
    },
  },
  {
    name: 'an upgrade restarts no container, its API is soon back, and a listener of events hears on',
    async run(host) {
      await host.run(newer, 300);
      await host.run(
        `systemctl stop gantryd && gantryd store backup --state-dir /var/lib/gantry /root/records-before && systemctl start gantryd`,
      );
      await host.run(`${answers}; systemd-run -q --unit lane-listener -p StandardOutput=file:/var/tmp/heard gantry events
        ${heard('before')}`);
      const before = await host.run(containerPids);
      await host.run(watched(`cd /var/tmp/newer; ${apt} install ./gantry_*.deb ./gantryd_*.deb`), 600);
      expectSame(await host.run(containerPids), before, 'the processes of the containers');
      expectMatch(await host.run('dpkg-query -W gantryd'), /99\.0/, 'the version');
      await host.run(`${heard('later')}; systemctl stop lane-listener`);
      console.log(`with ${crowd + 1} containers the API was away for ${await host.run('cat /var/tmp/away')} ms`);
    },
  },
  {
    name: 'a downgrade with the records from before finds the containers, which run on',
    async run(host) {
      const before = await host.run(containerPids);
      await host.run(
        `cd /run/product; ${apt} install --allow-downgrades ./gantry_*_amd64.deb ./gantryd_*_amd64.deb
        systemctl stop gantryd
        gantryd store restore --state-dir /var/lib/gantry /root/records-before --replace
        systemctl start gantryd; ${answers}`,
        600,
      );
      expectSame(await host.run(containerPids), before, 'the processes of the containers');
      expectSame(await host.run('gantry get profile -o name'), 'base\ndefault', 'the profiles');
      expectMatch(await host.run('gantry exec crowd1 -- hostname'), /^crowd1$/, 'its name');
    },
  },
  {
    name: 'containers that a removal of the package stopped start with a reinstall',
    async run(host) {
      await host.run(`${apt} remove gantryd`, 900);
      expectSame(
        await host.run('pgrep -c "^lxc-start$" || true; ls /var/lib/gantry | grep -c database'),
        '0\n1',
        'what runs',
      );
      await host.run(
        `cd /run/product; ${apt} install ./gantryd_*.deb
        ${answers}; until gantry list | grep -c Running | grep -qx ${crowd + 1}; do sleep 1; done`,
        900,
      );
    },
  },
  {
    name: 'a purge under running containers leaves nothing, with what apt had installed for it',
    async run(host) {
      await host.run(`${apt} purge gantryd gantry && ${apt} autoremove --purge ${forgetAdvice}`, 900);
      await host.run(
        'umount /run/product; rmdir /run/product; rm -rf ~/.local/state/gantry ~/web ~/records-before /var/tmp/newer',
      );
      expectSame(await remains(host), '', 'what is left');
    },
  },
];
