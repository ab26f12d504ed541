// Three commands lead from the package for npm to a shell in a real container, in less than a minute: docs/install.md.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { buildPrograms, plainEnv, repository } from '../../support/cli/programs.ts';
import { programRuns } from '../../support/hosts/program-runs.ts';
import { hostParts, nothing, withRealNetwork } from '../../support/hosts/remains.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const registry = (): string | undefined =>
  spawnSync('npm', ['view', 'koffi', 'version'], { timeout: 30_000 }).status === 0 ? undefined : 'npm has no registry';
const busybox = (): string | undefined => (programRuns(['busybox', 'true']) ? undefined : 'busybox is not installed');
const missing = (await realRuntimeMissing()) ?? busybox() ?? registry();
if (missing !== undefined) console.log(`skipped: three commands to a shell: ${missing}`);

const limitSeconds = 60;
const network = 'gantry0';

test.skipIf(missing !== undefined)(
  'the package is installed, a first container runs, and a shell in it answers, in less than a minute',
  { timeout: 600_000 },
  () =>
    withRealNetwork(network, async () => {
      const { root } = buildPrograms();
      const home = tempFolder('gt3-');
      const [packed = ''] = execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', home], {
        cwd: root,
        encoding: 'utf8',
      }).split('\n');
      const guide = readFileSync(join(repository, 'docs/install.md'), 'utf8');
      const commands = /## Three commands\n[^]*?```sh\n([^]*?)```/.exec(guide)?.[1]?.trim().split('\n') ?? [];
      expect(commands).toHaveLength(3);
      const user = process.env['HOME'] ?? '/root';
      // npm is set up as on this machine, but for the folder of its programs.
      const ofNpm = Object.entries(process.env).filter(([name]) => /^(npm_config_|node_extra_ca)/i.test(name));
      const env = {
        npm_config_userconfig: join(user, '.npmrc'),
        npm_config_cache: join(user, '.npm'),
        ...(Object.fromEntries(ofNpm) as Record<string, string>),
        ...plainEnv(),
        HOME: home,
        PATH: `${home}/bin:${process.env['PATH']}`,
        npm_config_prefix: home,
        npm_config_fetch_retries: '0',
      };
      const run = (command: string, input = '') =>
        spawnSync('bash', ['-c', command], { cwd: home, env, input, encoding: 'utf8' });
      try {
        const beginMs = Date.now();
        for (const command of commands) {
          const ran = run(command.replace(/gantry-\*\.tgz/, packed), 'echo "in $(hostname)"\n');
          expect(ran.status, `${command}: ${ran.stdout}${ran.stderr}`).toBe(0);
          if (command === commands.at(-1)) expect(ran.stdout).toBe('in first\n');
        }
        const seconds = (Date.now() - beginMs) / 1000;
        console.log(`from the package to a shell: ${seconds.toFixed(0)} s`);
        expect(seconds).toBeLessThan(limitSeconds);
      } finally {
        run('gantry destroy web -y --embedded lab');
      }
      expect(hostParts(join(home, 'lab'), [network])).toEqual(nothing);
    }),
);
