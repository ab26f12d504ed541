// The entry point of `npm run docs:site` and of `gantry docs --open`: the folder to write is the first argument, else dist/docs; the second
// one has the pages, else the current folder.
import { writeSite } from './docs-site.ts';

writeSite(process.argv[3] ?? '.', process.argv[2] ?? 'dist/docs');
