// The entry point of `npm run derive:bindings`: derives the bindings for CDKTF from those for cdktn.
import { writeCdktf } from './write-cdktf.ts';

writeCdktf(process.cwd());
