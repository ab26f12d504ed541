// Decides when a member publishes its status, and when it acquires a lost lease again. Pure.
import { isMemoryScarce } from './placement.ts';
import type { PresentSignal } from './signals.ts';

/** Publish free memory only if it changed by this share of all or crossed the line to scarce: every member receives each update. */
const loadStep = 0.25;

export function isOther(published: PresentSignal, now: PresentSignal): boolean {
  const { memoryTotalBytes, memoryFreeBytes } = now.load;
  const moved = Math.abs(memoryFreeBytes - published.load.memoryFreeBytes) > memoryTotalBytes * loadStep;
  return (
    moved ||
    isMemoryScarce(published.load) !== isMemoryScarce(now.load) ||
    published.version !== now.version ||
    published.extensions !== now.extensions ||
    published.hasEtcd !== now.hasEtcd ||
    published.isReadOnly !== now.isReadOnly ||
    published.certificate !== now.certificate ||
    published.keys?.generation !== now.keys?.generation ||
    published.keys?.phase !== now.keys?.phase ||
    published.warnings?.join() !== now.warnings?.join()
  );
}

/** The store's time for one returning member, roughly; a wait is never longer than half the time to live. */
const memberMs = 10;

/** A store that stalls for longer than the time to live ends the leases of all members at once; each then writes all its keys again.
 *  `random`: from 0 to 1. Pure. */
export const rejoinSpreadMs = (members: number, ttlSeconds: number, random: number): number =>
  random * Math.min(members * memberMs, ttlSeconds * 500);
