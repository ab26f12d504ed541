// The helping verbs of the command line: fmt, init, completion, doctor.
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { formatManifest } from '../../../../reconciler/manifest/text/format.ts';
import {
  clockFinding,
  serverFindings,
  trustFinding,
  warningFindings,
} from '../../../../reconciler/cli/verbs/setup/doctor.ts';
import { buildProgram } from '../../../../reconciler/cli/program/program.ts';
import { groups, verbs } from '../../../../reconciler/cli/program/verbs.ts';
import { commandNodes } from '../../../../reconciler/cli/verbs/setup/completion-scripts.ts';
import { cli, type CliRun } from '../../../support/cli/io.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { repository } from '../../../support/cli/programs.ts';
import { startStockLxd, stockLxdMissing } from '../../../support/hosts/stock-lxd.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const dir = tempFolder('gthp-');
const daemon = await seededDaemon();
let count = 0;
const place = (): string => join(dir, `p${(count += 1)}`);
const onHost = (...argv: readonly string[]): Promise<CliRun> => cli([...argv, '--host', `unix://${daemon.socketPath}`]);

describe('fmt', () => {
  const ugly = `# about all

# about the profile
name:   web   # its name
# what it is
kind: profile

devices:
    root: {type: disk,path: /, pool: p1}
manage: {protect: true}
config:
      # how much
      limits.memory:  512MiB
      user.text: |
         one
           two
---
vars: {A: 1}
kind: vars
`;

  test('fmt sorts keys, keeps every comment and value, and is idempotent', () => {
    const { text, problem } = formatManifest(ugly);
    expect(problem).toBeUndefined();
    expect(text.match(/^\w+(?=:)/gm)).toEqual(['kind', 'name', 'config', 'devices', 'manage', 'kind', 'vars']);
    for (const comment of ['# about all', '# about the profile', '# its name', '# what it is', '# how much'])
      expect(text).toContain(comment);
    expect(text).toContain('  user.text: |\n    one\n      two\n');
    expect(formatManifest(text).text).toBe(text);
  });

  test('fmt keeps the order of texts with aliases, and changes no example', () => {
    const aliased = 'devices:\n  root: &r { type: disk }\n  other: *r\nkind: profile\nname: x\n';
    expect(formatManifest(aliased).text).toBe(aliased);
    const examples = join(repository, 'examples');
    const files = (readdirSync(examples, { recursive: true }) as string[]).filter((name) => /\.ya?ml$/.test(name));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const formatted = formatManifest(readFileSync(join(examples, file), 'utf8'));
      expect(formatted.problem, file).toBeUndefined();
      expect(formatted.text, file).toBe(readFileSync(join(examples, file), 'utf8'));
    }
  });

  test('fmt takes a time that grows with the number of keys, not with its square', () => {
    const sizes = [2000, 16_000].map((count) => {
      const keys = Array.from({ length: count }, (_, index) => `  user.k${index}: v\n`).join('');
      const began = performance.now();
      expect(formatManifest(`kind: profile\nname: x\nconfig:\n${keys}`).problem).toBeUndefined();
      return performance.now() - began;
    });
    // Comparing each key with all others would take 64 times as long.
    expect((sizes[1] ?? 0) / (sizes[0] ?? 1)).toBeLessThan(25);
  });

  test('fmt writes files in place with their mode, through links, and with --check only names them', async () => {
    const file = `${place()}.yaml`;
    writeFileSync(file, ugly);
    chmodSync(file, 0o640);
    const link = `${place()}-link.yaml`;
    symlinkSync(file, link);
    const check = await cli(['fmt', '--check', file]);
    expect([check.code, check.stdout]).toEqual([1, `${file}\n`]);
    expect(readFileSync(file, 'utf8')).toBe(ugly);
    expect((await cli(['fmt', link])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(formatManifest(ugly).text);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect((await cli(['fmt', '--check', file])).code).toBe(0);
    expect((await cli(['fmt', '-'], { piped: ugly })).stdout).toBe(formatManifest(ugly).text);
  });

  test('fmt leaves broken texts alone and names the place of the error', async () => {
    const file = `${place()}.yaml`;
    writeFileSync(file, 'kind: [\nname: x\n');
    const run = await cli(['fmt', file]);
    expect([run.code, run.stderr]).toEqual([
      1,
      `Error: ${file}: this bracket [ is never closed (line 1, column 7): write ] where it ends\n`,
    ]);
    expect(formatManifest('kind: profile\nname: x\n---\nconfig:\n  a: 1\n  b: 2\n  a: 3\n').problem).toBe(
      'this key is written twice in one map (line 7, column 3): keep one of the two',
    );
    expect(readFileSync(file, 'utf8')).toBe('kind: [\nname: x\n');
    expect((await cli(['fmt', join(dir, 'nowhere.yaml')])).code).toBe(1);
  });
});

describe('init', () => {
  test('init writes a first manifest that can be applied, and never overwrites a file', async () => {
    const at = place();
    const made = await cli(['init', at]);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining(`gantry plan ${at}`)]);
    expect(formatManifest(readFileSync(join(at, 'stack.yaml'), 'utf8')).problem).toBeUndefined();
    expect(JSON.parse(readFileSync(join(at, 'gantry.schema.json'), 'utf8'))).toHaveProperty('oneOf');
    const applied = await onHost('apply', at, '-y');
    expect(applied.code, applied.stderr).toBe(0);
    expect((await onHost('plan', at, '--detailed-exitcode')).code).toBe(0);
    writeFileSync(join(at, 'stack.yaml'), 'mine');
    const again = await cli(['init', at]);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('already exists: not changed')]);
    expect(readFileSync(join(at, 'stack.yaml'), 'utf8')).toBe('mine');
    expect((await cli(['init', join(at, 'stack.yaml', 'x')])).code).toBe(1);
  });
});

describe('completion', () => {
  /** The completions of bash for the words, the last of which is incomplete; `gantry completion NAME WORD` is a stub. */
  const offered = (script: string, ...words: readonly string[]): readonly string[] => {
    const stub = `gantry() {
      case "$1 $2 $3" in
      'completion container '*) printf '%s\\n' container-one container-two ;;
      'completion '*/*) printf '%s\\n' "\${3%%/*}/\${3%%/*}-one" "\${3%%/*}/\${3%%/*}-two" ;;
      'completion address '*) printf '%s\\n' container/ profile/ ;;
      esac
    }`;
    const typed = ['gantry', ...words].map((word) => `'${word}'`).join(' ');
    const code = `${stub}\n${script}\nCOMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _gantry 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', code], { encoding: 'utf8' }).trimEnd().split('\n');
  };

  test('Completion offers commands, flags and live names in bash', async () => {
    const { stdout: script, code } = await cli(['completion', 'bash']);
    expect(code).toBe(0);
    expect(offered(script, 'expl')).toEqual(['explain']);
    expect(offered(script, 'image', 'ref')).toEqual(['refresh']);
    expect(offered(script, 'apply', '--auto')).toEqual(['--auto-approve']);
    expect(offered(script, 'export', 'container/container-t')).toEqual(['container/container-two']);
    expect(offered(script, 'export', 'prof')).toEqual(['profile/']);
    expect(offered(script, 'get', 'netw')).toEqual(['network_acl', 'network']);
    expect(offered(script, 'get', 'network', '')).toEqual(['network-one', 'network-two']);
    expect(offered(script, 'exec', 'container-o')).toEqual(['container-one']);
    const every = buildProgram(() => Promise.resolve()).commands.map((command) => command.name());
    expect(offered(script, '')).toEqual(expect.arrayContaining(every));
  });

  test('Completion knows all commands, and shells by name', async () => {
    const declared = Object.values(verbs).flat();
    expect(commandNodes({ verbs: declared.map(({ verb }) => verb), groups }).length).toBeGreaterThan(60);
    expect((await cli(['completion', 'tcsh'])).code).toBe(64);
  });
});

describe('doctor', () => {
  const levels = (run: CliRun): Readonly<Record<string, string>> =>
    Object.fromEntries(
      (JSON.parse(run.stdout) as { findings: { name: string; level: string }[] }).findings.map(({ name, level }) => [
        name,
        level,
      ]),
    );

  test('doctor reports a healthy daemon, and says that it only simulates', async () => {
    const run = await onHost('doctor', '--json');
    expect(run.code, run.stdout).toBe(0);
    expect(levels(run)).toEqual({
      program: 'ok',
      state: 'ok',
      daemon: 'ok',
      trust: 'ok',
      version: 'ok',
      extensions: 'ok',
      runtime: 'warning',
      clock: 'ok',
      locks: 'ok',
      warnings: 'ok',
    });
    expect((await onHost('doctor')).stdout).toContain('containers are simulated');
  });

  test('doctor reports locks, a state directory without write access, and an unreachable daemon', async () => {
    expect((await onHost('lock', '--set', 'doctored')).code).toBe(0);
    const locked = await onHost('doctor');
    expect(locked.stdout).toContain('locked: doctored by');
    expect((await onHost('force-unlock', '--set', 'doctored', '-y')).code).toBe(0);
    const file = place();
    writeFileSync(file, '');
    const run = await cli(['doctor', '--json', '--host', 'unix:///nowhere/socket'], { env: { XDG_STATE_HOME: file } });
    expect(run.code).toBe(7);
    expect(levels(run)).toEqual({ program: 'ok', state: 'warning', daemon: 'error' });
  });

  test('doctor reports problems of a server with remedies', () => {
    const environment = {
      server: 'gantry',
      server_version: '0.0.1',
      driver: 'lxc',
      driver_version: '5',
      kernel_version: '6',
      storage: 'dir',
    };
    const found = serverFindings({ environment, api_version: '1.0', api_extensions: ['patch', 'network', 'storage'] });
    expect(found.map(({ name, level }) => `${name} ${level}`)).toEqual([
      'version warning',
      'extensions error',
      'runtime ok',
    ]);
    expect(found[1]?.text).toContain('lacks the API extensions etag');
    expect(trustFinding({ auth: 'untrusted' })).toMatchObject({
      level: 'error',
      remedy: expect.stringContaining('--client-cert'),
    });
    const noon = Date.parse('2026-01-01T12:00:00Z');
    const told = (ms: number): string => new Date(ms).toUTCString();
    expect(clockFinding(told(noon), noon, noon + 5).level).toBe('ok');
    expect(clockFinding(told(noon + 90_000), noon, noon + 5).text).toContain('90 s ahead');
    expect(clockFinding(told(noon - 91_000), noon, noon + 5).text).toContain('90 s behind');
    expect(clockFinding(undefined, noon, noon).level).toBe('warning');
  });

  test('doctor shows unacknowledged warnings, the severe ones first', () => {
    const warning = (type: string, more: object = {}) => ({
      uuid: type,
      location: 'none',
      project: '',
      type,
      count: 1,
      first_seen_at: '',
      last_seen_at: '',
      last_message: 'why',
      severity: 'low',
      status: 'new',
      entity_url: '',
      ...more,
    });
    const all = [
      warning('Offline cluster member', { location: 'm1', entity_url: '/1.0/cluster/members/m2' }),
      warning('Known', { status: 'acknowledged' }),
      warning('Over', { status: 'resolved' }),
      warning('Storage pool unavailable', { severity: 'high', entity_url: '/1.0/storage-pools/p' }),
    ];
    expect(warningFindings(all).map(({ level, text }) => `${level} ${text}`)).toEqual([
      'warning high: Storage pool unavailable /1.0/storage-pools/p: why',
      'warning low: Offline cluster member /1.0/cluster/members/m2 on m1: why',
    ]);
    expect(warningFindings(all.slice(1, 3))).toMatchObject([{ level: 'ok' }]);
    const many = warningFindings(Array.from({ length: 30 }, (_, index) => warning(`w${index}`)));
    expect(many).toHaveLength(21);
    expect(many.at(-1)?.text).toBe('and 10 more');
  });

  const missing = stockLxdMissing() ?? undefined;
  test.skipIf(missing !== undefined)('doctor reports a healthy stock LXD', async () => {
    const lxd = await startStockLxd();
    onTestFinished(() => lxd.cleanUp());
    const run = await cli(['doctor', '--json', '--host', `unix://${lxd.socketPath}`]);
    expect(run.code, run.stdout).toBe(0);
    expect(levels(run)).toMatchObject({ trust: 'ok', version: 'ok', extensions: 'ok', runtime: 'ok', clock: 'ok' });
  });
  if (missing !== undefined) console.log(`skipped: doctor on a stock LXD: ${missing}`);
});
