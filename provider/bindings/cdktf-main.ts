// The edge of `npm run derive:bindings`: the bindings for CDKTF from those for cdktn.
import { writeCdktf } from './write-cdktf.ts';

writeCdktf(process.cwd());
