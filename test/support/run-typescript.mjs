// Lets this process import TypeScript files.
import { register } from 'node:module';

register('./typescript-loader.mjs', import.meta.url);
