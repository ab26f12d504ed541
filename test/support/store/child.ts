// A separate process that opens a SQLite store: `hold` keeps it open, `write` writes 3-key transactions and prints each ack.
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts';
import type { Store } from '../../../server/store/store.ts';

const [, , verb, path = '', writers = '1', start = '0'] = process.argv;

/** Writer w's transaction n puts the same n into three keys; a reader that finds different numbers sees a torn one. */
async function writeForEver(store: Store, writer: number, first: number): Promise<never> {
  for (let n = first; ; n++) {
    const value = Buffer.from(JSON.stringify({ n, filler: 'x'.repeat(500) }));
    const ops = ['a', 'b', 'c'].map((part) => ({ put: `/w/${writer}/${part}`, value }));
    const { ok } = await store.txn([], [...ops, { put: `/log/${writer}/${n}`, value: Buffer.from(String(n)) }]);
    if (!ok) throw new Error('an unconditional transaction was refused');
    process.stdout.write(`ack ${writer} ${n}\n`);
  }
}

async function main(): Promise<void> {
  const store = await openSqliteStore({ path });
  process.stdout.write('open\n');
  if (verb === 'lease') {
    const lease = await store.lease(60);
    await store.txn([], [{ put: '/member', value: Buffer.from('alive'), lease: lease.id }]);
    process.stdout.write('leased\n');
  }
  if (verb === 'write') {
    await Promise.all(Array.from({ length: Number(writers) }, (_, w) => writeForEver(store, w, Number(start))));
  }
  setInterval(() => {}, 60_000);
}

await main();
