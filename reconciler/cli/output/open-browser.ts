// Opens an address in the browser of the desktop, where there is one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Resolves when the program that opens it has begun, or could not. */
export async function openBrowser(address: string, note: (text: string) => void): Promise<void> {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(program, [address], { stdio: 'ignore', detached: true });
  child.unref();
  await once(child, 'spawn').catch(() => note(`${program} cannot be run: open the address yourself`));
}
