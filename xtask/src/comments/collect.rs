//! The collection of doc comments: on which kind of item, public or not.

use syn::visit::{self, Visit};

/// The documentation of one item.
pub(super) struct DocComment {
    /// The line on which it begins, counted from 1.
    pub(super) line: usize,
    /// The kind of item it is written on.
    pub(super) owner: Owner,
    /// Whether a user of the crate can meet the item.
    pub(super) is_public: bool,
    /// The comment, its lines joined by spaces; a paragraph ends with a line feed.
    pub(super) text: String,
}

/// The kind of item a comment is written on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// A function that returns something.
    FunctionWithResult,
    /// Any other item.
    Other,
}

impl DocComment {
    /// Returns the first sentence, at most the first paragraph.
    pub(super) fn sentence(&self) -> &str {
        let paragraph = self.text.split('\n').next().unwrap_or_default();
        let ends = paragraph.match_indices([' ']).map(|(at, _)| at).find(|&at| {
            let before = paragraph.get(..at).unwrap_or_default();
            before.ends_with(['.', '?', '!'])
                && !["e.g.", "i.e.", "Fig.", "eq.", "p.", "no.", "vs."]
                    .iter()
                    .any(|short| before.ends_with(short))
        });
        paragraph.get(..ends.unwrap_or(paragraph.len())).unwrap_or(paragraph)
    }
}

/// Returns the doc comments of a file, those of tests left out.
pub(super) fn doc_comments(file: &syn::File) -> Vec<DocComment> {
    let mut walk = CommentWalk { is_public: true, in_variant: false, found: Vec::new() };
    walk.note(&file.attrs, true, Owner::Other);
    walk.visit_file(file);
    walk.found
}

/// Walks through a file and takes the comments down.
struct CommentWalk {
    /// Whether the item around is public.
    is_public: bool,
    /// Whether the fields met are a variant's, which carry no visibility and are as public as the enum.
    in_variant: bool,
    found: Vec<DocComment>,
}

impl CommentWalk {
    fn note(&mut self, attributes: &[syn::Attribute], is_public: bool, owner: Owner) {
        let lines: Vec<(usize, String)> = attributes.iter().filter_map(doc_line).collect();
        let Some(&(line, _)) = lines.first() else { return };
        let mut text = String::new();
        for (_, content) in &lines {
            let content = content.trim();
            if content.is_empty() {
                text.push('\n');
            } else {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(content);
            }
        }
        self.found.push(DocComment { line, owner, is_public, text });
    }

    /// Walks through what stands in an item whose parts are as public as itself.
    fn inside(&mut self, is_public: bool, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.is_public, is_public);
        walk(self);
        self.is_public = before;
    }
}

fn doc_line(attribute: &syn::Attribute) -> Option<(usize, String)> {
    use syn::spanned::Spanned;
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
    pair.path.is_ident("doc").then(|| (attribute.span().start().line, text.value()))
}

fn is_pub(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(crate::sources::is_cfg_test)
}

fn owner(signature: &syn::Signature) -> Owner {
    match signature.output {
        syn::ReturnType::Default => Owner::Other,
        syn::ReturnType::Type(..) => Owner::FunctionWithResult,
    }
}

impl<'ast> Visit<'ast> for CommentWalk {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.attrs, is_pub(&item.vis), owner(&item.sig));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.attrs, is_pub(&item.vis), owner(&item.sig));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.note(&item.attrs, self.is_public, owner(&item.sig));
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.note(&item.attrs, is_pub(&item.vis), Owner::Other);
        visit::visit_item_struct(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.note(&field.attrs, is_pub(&field.vis) || self.in_variant && self.is_public, Owner::Other);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.note(&item.attrs, is_pub(&item.vis), Owner::Other);
        self.inside(is_pub(&item.vis), |walk| visit::visit_item_enum(walk, item));
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.note(&variant.attrs, self.is_public, Owner::Other);
        self.in_variant = true;
        visit::visit_variant(self, variant);
        self.in_variant = false;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.note(&item.attrs, is_pub(&item.vis), Owner::Other);
        self.inside(is_pub(&item.vis), |walk| visit::visit_item_trait(walk, item));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            self.note(&item.attrs, is_pub(&item.vis), Owner::Other);
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.note(&item.attrs, is_pub(&item.vis), Owner::Other);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.note(&item.attrs, is_pub(&item.vis), Owner::Other);
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.note(&item.attrs, self.is_public, Owner::Other);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.note(&item.attrs, is_pub(&item.vis), Owner::Other);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.note(&item.attrs, is_pub(&item.vis), Owner::Other);
    }

    fn visit_trait_item_type(&mut self, item: &'ast syn::TraitItemType) {
        self.note(&item.attrs, self.is_public, Owner::Other);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        self.note(&item.attrs, false, Owner::Other);
    }
}
