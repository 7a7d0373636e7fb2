// An image that opens at full size in a dialog.
import { useState } from 'react';
import { useTexts } from '../texts/texts.tsx';
import { Dialog } from './Dialog.tsx';

export function ZoomableImage({ src, name }: { readonly src: string; readonly name: string }) {
  const { items } = useTexts();
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="zoomable"
        title={items.enlarge(name)}
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <img src={src} alt={name} />
      </button>
      {open ? (
        <Dialog title={name} wide onClose={() => setOpen(false)}>
          <img className="full-size" src={src} alt={name} />
        </Dialog>
      ) : null}
    </>
  );
}
