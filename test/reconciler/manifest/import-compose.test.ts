// `gantry import compose`: the documents of a compose file, listed parts with lines, and a plan of the result.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { importCompose } from '../../../reconciler/manifest/import-compose/import-compose.ts';
import { cli } from '../../support/cli/io.ts';
import { seed, withDaemon } from '../../support/daemons/daemon.ts';
import { expectGolden } from '../../support/golden.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const file = join(import.meta.dirname, '../../fixtures/compose/shop.yaml');

test('services become containers, and unconverted parts are listed with their line', () => {
  const { documents, notes, errors } = importCompose(readFileSync(file, 'utf8'), '/srv/shop');
  expect(errors).toEqual([]);
  expectGolden('import/compose-shop.json', `${JSON.stringify({ documents, notes }, null, 2)}\n`);
});

test('volumes and containers are those of the pool and the profile that are named', () => {
  const text =
    'services:\n  db: { image: "debian:12", volumes: ["data:/data"] }\nvolumes: { data: { external: true }, more: {} }\n';
  const { documents, notes } = importCompose(text, '/', { pool: 'main', profile: 'base' });
  const device = { type: 'disk', pool: 'main', source: 'data', path: '/data' };
  expect(documents).toEqual([expect.objectContaining({ profiles: ['base'], devices: { 'volume-1': device } })]);
  expect(notes.map((note) => note.text)).toEqual([expect.stringContaining('in the pool main')]);
  const { documents: made } = importCompose(text.replace('{ external: true }', '{}'), '/', { pool: 'main' });
  expect(made[0]).toEqual({ kind: 'storage_volume', name: 'data', pool: 'main' });
});

test('a folder of a volume does not move as the whole volume, and a mount keeps how later mounts are shared', () => {
  const mounts = [
    '{ type: volume, source: data, target: /part, volume: { subpath: a/b } }',
    '{ type: bind, source: /srv, target: /srv, bind: { propagation: rslave } }',
    '/mnt:/mnt:ro,rshared',
  ];
  const text = `services:\n  db:\n    image: debian:12\n    volumes:\n${mounts.map((each) => `      - ${each}\n`).join('')}`;
  const { documents, notes } = importCompose(text, '/');
  const disk = { type: 'disk', source: '/mnt', path: '/mnt', readonly: true, propagation: 'rshared' };
  expect(documents).toEqual([
    expect.objectContaining({
      devices: { 'volume-2': { type: 'disk', source: '/srv', path: '/srv', propagation: 'rslave' }, 'volume-3': disk },
    }),
  ]);
  expect(notes.map((note) => note.text)).toContainEqual(expect.stringMatching(/\/part does not move: .* for a\/b$/));
});

test.each([
  ['services: [', 1, /flow/i],
  ['version: "3"\n', 1, /has no services/],
  ['services:\n  web: nginx\n', 2, /services\.web must be a map/],
])('an invalid compose file is refused with its line (%#)', (text, line, why) => {
  const { documents, errors } = importCompose(text, '/');
  expect(documents).toEqual([]);
  expect(errors[0]).toMatchObject({ text: expect.stringMatching(why) });
  expect(errors[0]?.line).toBe(line);
});

test('a variable without a default inside the default of another one leaves nothing there, and is listed', () => {
  const { documents, notes } = importCompose(
    `services:
  web:
    image: debian:12
    environment: { USER: '\${A:-x\${B}}', HOME: '\${C:-/home/$D}', COST: '\${E:-5$$f}' }
`,
    '/',
  );
  expect(documents[0]).toEqual({ kind: 'vars', vars: { A: 'x', C: '/home/', E: '5$f' } });
  expect(documents[1]).toMatchObject({
    config: { 'environment.USER': '${A}', 'environment.HOME': '${C}', 'environment.COST': '${E}' },
  });
  const emptied = notes.filter(({ text }) => text.includes('nothing is written where it stands'));
  expect(emptied.map(({ text }) => text.split(' ', 1)[0])).toEqual(['B', 'D']);
});

test('many variables in the default of another one are read at once', () => {
  const many = '$B'.repeat(60_000);
  const { documents } = importCompose(
    `services: { web: { image: debian:12, environment: { A: "\${A:-x${many}-y}" } } }`,
    '/',
  );
  expect(documents[0]).toEqual({ kind: 'vars', vars: { A: 'x-y' } });
});

test('each part of a key that is not converted is listed', () => {
  const { notes } = importCompose(
    `services:
  web:
    image: debian:12
    restart: on-failure:3
    depends_on: { db: { condition: service_healthy, restart: true }, cache: { condition: service_started } }
    networks: { back: { ipv4_address: 10.0.0.5 } }
    deploy:
      replicas: 2
      placement: { constraints: [node.role == worker] }
      resources: { limits: { memory: 1g }, reservations: { cpus: '1' } }
  db: { image: 'debian:12' }
  cache: { image: 'debian:12' }
networks:
  front: { ipam: { driver: default, config: [{ subnet: 10.0.0.0/24, gateway: 10.0.0.1, ip_range: 10.0.0.128/25 }] } }
models: { small: {} }
x-own: {}
`,
    '/',
  );
  expect(notes.map(({ line, text }) => `${line} ${text.split(' does not move')[0]}`).toSorted()).toEqual([
    '10 services.web.deploy.resources.reservations',
    '14 networks.front.ipam.ip_range',
    '15 models',
    '4 services.web.restart',
    '5 services.web.depends_on.db.condition',
    '5 services.web.depends_on.db.restart',
    '6 services.web.networks.back.ipv4_address',
    '8 services.web.deploy.replicas',
    '9 services.web.deploy.placement',
  ]);
});

test('an anchor may stand in many services, but aliases of aliases end with an error', () => {
  const services = Array.from({ length: 150 }, (_, index) => `  s${index}: { <<: *own, image: 'debian:12' }\n`);
  const head = 'x-own: &own { environment: { MASK: 022, ZONE: "${ZONE:-UTC}" } }\nservices:\n';
  const { documents, notes } = importCompose(`${head}${services.join('')}`, '/');
  expect(documents.at(-1)).toMatchObject({ name: 's149', config: { 'environment.MASK': '18' } });
  // The text of the anchor is no part of the file by itself.
  expect(notes.map(({ text }) => text)).toEqual([expect.stringMatching(/^ZONE .* one of the manifest/)]);
  const bomb = [1, 2, 3, 4, 5].map((each) => `x-${each}: &a${each} [${`*a${each - 1}, `.repeat(9)}]\n`);
  const { errors } = importCompose(`x-0: &a0 [1]\n${bomb.join('')}${head}${services.join('')}`, '/');
  expect(errors).toEqual([{ line: 1, text: expect.stringMatching(/^has aliases that stand for more than/) }]);
});

test('a container depends on no service that the file lacks', () => {
  const { documents, notes } = importCompose(
    "services:\n  web: { image: 'debian:12', depends_on: [db, lost] }\n  db: { image: 'debian:12' }\n",
    '/',
  );
  expect(documents[0]).toMatchObject({ name: 'web', manage: { depends_on: ['container/db'] } });
  expect(notes.map(({ text }) => text)).toEqual([
    'services.web.depends_on does not move for lost: the file has no such service',
  ]);
});

test('a folder stands for the compose file in it, as docker compose finds it', async () => {
  const folder = tempFolder('gicf-');
  const none = await cli(['import', 'compose', folder]);
  expect([none.code, none.stderr]).toEqual([64, expect.stringContaining('has no compose.yaml, compose.yml')]);
  const service = (name: string): string => `services: { ${name}: { image: 'debian:12' } }\n`;
  writeFileSync(join(folder, 'docker-compose.yml'), service('old'));
  expect((await cli(['import', 'compose', folder])).stdout).toContain('name: old\n');
  writeFileSync(join(folder, 'compose.yml'), service('web'));
  expect((await cli(['import', 'compose', folder])).stdout).toContain('name: web\n');
});

test('the result can be planned, and overwrites no file', async () => {
  const folder = tempFolder('gic-');
  const out = join(folder, 'stack.yaml');
  const made = await cli(['import', 'compose', file, '-o', out]);
  expect(made.code, made.stderr).toBe(0);
  expect(made.stderr).toMatch(/shop\.yaml:\d+: services\.web\.healthcheck does not move/);
  expect((await cli(['import', 'compose', file, '-o', out])).stderr).toContain('--force overwrites it');
  writeFileSync(join(folder, 'bad.yaml'), 'services: {}\n');
  expect((await cli(['import', 'compose', join(folder, 'bad.yaml')])).code).toBe(1);
  await withDaemon({}, async (daemon) => {
    await seed(daemon);
    const plan = await cli(['plan', '-f', out, '--var', 'DB_PASSWORD=x', '--host', `unix://${daemon.socketPath}`]);
    expect(plan.code, plan.stdout + plan.stderr).toBe(0);
    expect(plan.stdout).toContain('container/web');
  });
});
