// A command over many objects adds many listeners for interruptions without a warning of Node.
import { expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';

const here = useCliWorld();

test('status and apply of a hundred containers print no warning of too many listeners', async () => {
  const names = Array.from({ length: 101 }, (_, index) => `c${index}`);
  const text = names.map((name) => `kind: container\nname: ${name}\nsource: { type: none }\nstate: stopped\n`);
  const path = here.manifest(text.join('---\n'));
  const warnings: string[] = [];
  const listen = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  process.on('warning', listen);
  try {
    for (const argv of [['apply', '-y', '--parallelism', '50'], ['status']]) {
      const run = await cli([...argv, '-f', path, '--host', here.daemon.host], {
        env: { XDG_STATE_HOME: here.folder },
      });
      expect(run.code, run.stderr).toBe(0);
    }
    // Node emits a warning after the work that caused it.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('warning', listen);
  }
  expect(warnings).toEqual([]);
});
