// The page of `gantry ui`: its set has no source, so there are no revisions, no previews and no history of runs. Pure.
import type { SetStatus } from '../../controller/contract/index.ts';

export const isOfOneHost = ({ source }: Pick<SetStatus, 'source'>): boolean => source === '';
