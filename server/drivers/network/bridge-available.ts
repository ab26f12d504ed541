// Checks whether this process can create bridge networks on this host, and gives the reason if not; leaves nothing behind.
import { errorText } from '../../lib/shared/reason.ts';
import { renderFirewall } from './firewall.ts';
import { planNetwork } from './config.ts';
import { findTool, ipBatch, runTool } from './host-tools.ts';

export type Availability = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export async function bridgeAvailable(): Promise<Availability> {
  if (process.platform !== 'linux') return { ok: false, reason: 'managed networks need Linux' };
  if (process.getuid?.() !== 0) return { ok: false, reason: 'managed networks need root' };
  const name = `gp${process.pid.toString(36)}`;
  const config = { 'ipv4.address': '10.0.0.1/24', 'ipv4.nat': 'true' };
  try {
    await Promise.all([findTool('ip'), findTool('nft'), findTool('dnsmasq')]);
    await ipBatch('make a bridge', [`link add name ${name} type bridge`, `link del dev ${name}`]);
    await runTool('nft', ['-c', '-f', '-'], { input: renderFirewall(planNetwork({ name, config })) });
    return { ok: true };
  } catch (error) {
    return { ok: false, reason: errorText(error) };
  }
}
