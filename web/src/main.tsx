// The page begins here.
import './style/all.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { refuseFileDrops } from './shell/fileDrops.ts';
import { applyTheme } from './shell/preferences.ts';

applyTheme();
refuseFileDrops();
const place = document.getElementById('page');
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
