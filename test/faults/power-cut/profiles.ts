// Writes profiles: objects that only the store has.
import { read, settle } from '../../support/daemons/child-process.ts';
import type { Writer } from './writer.ts';

export const profileWriter: Writer = {
  kind: 'profiles',
  async write(server, serial) {
    const [name, path] = [`p${serial}`, `/1.0/profiles/p${serial}`];
    const { status } = await settle(server, 'POST', '/1.0/profiles', {
      name,
      config: { 'user.serial': String(serial) },
    });
    if (status >= 300) throw new Error(`creating profile ${name} answered ${status}`);
    return {
      what: `profile ${name}`,
      async check(cut) {
        const found = (await read(cut, path)).config['user.serial'] as string;
        return found === String(serial) ? undefined : `user.serial is ${found}`;
      },
    };
  },
};
