//! Figures as PDF and PNG, with Liberation Sans or a font of the caller's in them.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Liberation Sans 2.1.5 (SIL Open Font License, see `assets/liberation/LICENSE`).
const LIBERATION_SANS: &[u8] = include_bytes!("../assets/liberation/LiberationSans-Regular.ttf");

/// The family name of a font file; none if it is no font.
pub fn family(font: &[u8]) -> Option<String> {
    let mut fonts = resvg::usvg::fontdb::Database::new();
    fonts.load_font_data(font.to_vec());
    let face = fonts.faces().next()?;
    face.families.first().map(|(name, _)| name.clone())
}

/// A drawing with a font, by default Liberation Sans.
fn tree(svg: &str, font: Option<&[u8]>) -> Result<Tree, String> {
    let mut options = Options::default();
    let fonts = Arc::make_mut(&mut options.fontdb);
    fonts.load_font_data(font.unwrap_or(LIBERATION_SANS).to_vec());
    let family = fonts.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
    let family = family.ok_or("the font has no face")?;
    fonts.set_sans_serif_family(family.clone());
    options.font_family = family;
    // A point is a point: the SVG is read and written at 72 units of an inch.
    options.dpi = 72.0;
    Tree::from_str(svg, &options).map_err(|error| error.to_string())
}

/// An SVG of [`draw`](ssdlab_figures::svg::draw) as PDF: vectors, and text as text.
///
/// # Errors
/// The SVG or the font can't be used, in words.
pub fn pdf(svg: &str, font: Option<&[u8]>) -> Result<Vec<u8>, String> {
    let page = svg2pdf::PageOptions { dpi: 72.0 };
    svg2pdf::to_pdf(&tree(svg, font)?, svg2pdf::ConversionOptions::default(), page).map_err(|error| error.to_string())
}

/// The same as PNG: `scale` pixels for a unit of the SVG's view box.
///
/// # Errors
/// As [`pdf`]; or the picture would be larger than 2^28 pixels.
pub fn png(svg: &str, font: Option<&[u8]>, scale: f32) -> Result<Vec<u8>, String> {
    let tree = tree(svg, font)?;
    let size = tree.size().to_int_size().scale_by(scale).ok_or("the picture has no size")?;
    if u64::from(size.width()) * u64::from(size.height()) > 1 << 28 {
        return Err("the picture would have more than 2^28 pixels".into());
    }
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("the picture has no size")?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_figures::figure::{Axis, Figure, Mark, Panel, Scale, Series, Unit};
    use ssdlab_figures::svg::{Look, draw};

    #[test]
    fn text_stays_text_and_pictures_have_their_size() {
        let series = Series::new("read", Mark::Line, vec![vec![0.0, 1.0], vec![1.0, 2.0]]);
        let x = Axis::new("requests", Unit::One, Scale::Linear);
        let panel = Panel { x: x.clone(), y: x, series: vec![series], ..Panel::default() };
        let figure = Figure { id: "f".into(), title: "Title".into(), panels: vec![panel], ..Figure::default() };
        let look = Look { width: 252.0, height: Some(158.0), font_size: 8.0, unit: "pt", ..Look::default() };
        let svg = draw(&figure, &look);
        let made = pdf(&svg, None).unwrap();
        assert!(made.starts_with(b"%PDF-"));
        let holds = |text: &[u8]| made.windows(text.len()).any(|part| part == text);
        assert!(holds(b"LiberationSans"), "the font is in it");
        assert!(holds(b"/MediaBox [0 0 252 158]"), "{}", String::from_utf8_lossy(&made[..600.min(made.len())]));
        let picture = png(&svg, None, 300.0 / 72.0).unwrap();
        assert_eq!(&picture[1..4], b"PNG");
        assert_eq!(u32::from_be_bytes(picture[16..20].try_into().unwrap()), 1050);
        assert_eq!(family(LIBERATION_SANS).as_deref(), Some("Liberation Sans"));
        assert!(pdf(&svg, Some(b"no font")).is_err() && family(b"no font").is_none());
    }
}
