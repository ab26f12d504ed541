// Pools of zfs and lvm beside the LXD of the release on the same kernel: both daemons do the same work in turns, timed through their sockets.
import { expectMatch, type Check } from '../check.ts';
import { extras, mountExtras } from '../extras-disk.ts';
import { installing } from '../packages-disk.ts';

export const besidePackages = ['lxd', 'lxd-client', 'lvm2', 'thin-provisioning-tools', 'rsync'] as const;

const rounds = 7;
/** Each driver with the key by which the pools of both daemons get different names on the host. */
const drivers = { zfs: 'zfs.pool_name', lvm: 'lvm.vg_name' };
/** The image has 250 MB of files, which each pool holds once. */
const poolSize = '1500MiB';

/** Prints a line `DRIVER WORK SERVER MS...` for each work, with the milliseconds of each round until the operation has ended. */
const timer = `
const http = require("node:http");
const servers = {
  gantryd: { socketPath: "/var/lib/gantry/unix.socket", agent: new http.Agent({ keepAlive: true }) },
  lxd: { socketPath: "/var/lib/lxd/unix.socket", agent: new http.Agent({ keepAlive: true }) },
};
const call = (server, method, path, body) => new Promise((resolve, reject) => {
  const asked = http.request({ ...servers[server], method, path, headers: { "Content-Type": "application/json" } }, (answer) => {
    let text = "";
    answer.setEncoding("utf8").on("data", (part) => (text += part)).on("end", () => resolve(JSON.parse(text)));
  });
  asked.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
});
async function timed(server, method, path, body) {
  const start = performance.now();
  let done = await call(server, method, path, body);
  if (done.operation) done = (await call(server, "GET", done.operation + "/wait")).metadata;
  const took = performance.now() - start;
  if (done.status_code !== 200) throw new Error([server, method, path, JSON.stringify(done)].join(" "));
  return took;
}
async function main(driver, rounds) {
  const works = {
    create: (n) => ["POST", "/1.0/containers", { name: "t" + n, source: { type: "image", alias: "debian" },
      devices: { root: { type: "disk", path: "/", pool: "beside-" + driver } } }],
    snapshot: (n) => ["POST", "/1.0/containers/t" + n + "/snapshots", { name: "s" }],
    restore: (n) => ["PUT", "/1.0/containers/t" + n, { restore: "s" }],
    copy: (n) => ["POST", "/1.0/containers", { name: "c" + n, source: { type: "copy", source: "t" + n, container_only: true } }],
    "delete the copy": (n) => ["DELETE", "/1.0/containers/c" + n],
    "delete": (n) => ["DELETE", "/1.0/containers/t" + n],
  };
  // Unpacks the image into the pool of each server.
  for (const server of Object.keys(servers)) {
    const first = await timed(server, ...works.create(0));
    console.log([driver, "first", server, first.toFixed(1)].join("\\t"));
    await timed(server, ...works.delete(0));
  }
  const times = {};
  for (let n = 1; n <= rounds; n += 1)
    for (const [name, work] of Object.entries(works))
      for (const server of n % 2 === 0 ? ["gantryd", "lxd"] : ["lxd", "gantryd"])
        ((times[name] ??= {})[server] ??= []).push(await timed(server, ...work(n)));
  for (const [name, of] of Object.entries(times))
    for (const [server, all] of Object.entries(of)) console.log([driver, name, server, ...all.map((ms) => ms.toFixed(1))].join("\\t"));
}
main(process.argv[2], Number(process.argv[3])).catch((error) => { console.error(error); process.exitCode = 1; });`;

interface Times {
  readonly gantryd: number;
  readonly lxd: number;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

/** The median of each work in the output of the timer, in ms. */
export function mediansOf(output: string): ReadonlyMap<string, Times> {
  const found = new Map<string, Partial<Record<keyof Times, number>>>();
  for (const line of output.split('\n')) {
    const [, work, server, ...times] = line.split('\t');
    if (work === undefined || (server !== 'gantryd' && server !== 'lxd')) continue;
    found.set(work, { ...found.get(work), [server]: median(times.map(Number)) });
  }
  return new Map([...found].map(([work, { gantryd = NaN, lxd = NaN }]) => [work, { gantryd, lxd }]));
}

export const besideChecks: readonly Check[] = [
  {
    name: 'the LXD of the release runs beside gantryd, and both have the image of a Debian',
    vital: true,
    async run(host) {
      await host.run('modprobe zfs; modprobe dm_thin_pool; modprobe loop max_loop=64');
      await host.run(installing(...besidePackages), 900);
      await host.run(
        `systemctl restart gantryd; ${mountExtras}; lxd waitready; lxc image import ${extras}/debian.tar.gz --alias debian
        gantry image import ${extras}/debian.tar.gz --alias debian`,
        900,
      );
      await host.run(`cat >/root/timer.js <<'END'${timer}\nEND`);
    },
  },
  ...Object.entries(drivers).map(([driver, nameKey]): Check => ({
    name: `a container in a pool of ${driver} is made from a stored image no slower than by LXD`,
    async run(host) {
      await host.run(
        `lxc storage create beside-${driver} ${driver} size=${poolSize}
        cat >/root/pool.yaml <<'END'
kind: storage_pool
name: beside-${driver}
driver: ${driver}
config: { size: ${poolSize}, ${nameKey}: ours }
END
        gantry apply -f /root/pool.yaml --set beside-${driver} --auto-approve`,
        600,
      );
      const medians = mediansOf(await host.run(`node /root/timer.js ${driver} ${rounds}`, 3_600));
      for (const [work, { gantryd, lxd }] of medians)
        console.log(
          `  ${driver}, ${work}: gantryd ${gantryd.toFixed(0)} ms, LXD ${lxd.toFixed(0)} ms, ${(lxd / gantryd).toFixed(2)}x`,
        );
      const { gantryd, lxd } = medians.get('create') ?? { gantryd: NaN, lxd: NaN };
      if (!(gantryd <= lxd)) throw new Error(`gantryd takes ${gantryd} ms, LXD ${lxd} ms`);
      await host.run(
        `lxc storage delete beside-${driver}
        gantry destroy -f /root/pool.yaml --set beside-${driver} --auto-approve`,
        600,
      );
    },
  })),
  {
    name: 'the pools go without a ZFS pool, volume group or loop device left',
    async run(host) {
      expectMatch(await host.run('zpool list -H; vgs --noheadings; losetup --list --noheadings'), /^$/, 'what is left');
    },
  },
];
